package gemini

import "google.golang.org/genai"

// contents is a prompt as turns: that of a user, and behind it what its last suffix bytes are, as the beginning of a turn of
// the model, which goes on with it. A prompt that is nothing else stays the user's, since a model wants something to answer.
func contents(prompt string, suffix int) []*genai.Content {
	asked, begun := prompt[:len(prompt)-suffix], prompt[len(prompt)-suffix:]
	if asked == "" || begun == "" {
		return []*genai.Content{genai.NewContentFromText(prompt, genai.RoleUser)}
	}
	return []*genai.Content{genai.NewContentFromText(asked, genai.RoleUser), genai.NewContentFromText(begun, genai.RoleModel)}
}
