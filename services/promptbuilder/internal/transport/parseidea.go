package transport

import (
	"context"
	"fmt"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/idea"
)

// maxIdea is the longest answer that is read, in bytes.
const maxIdea = 1 << 20

// parts are those of the domain by the words of the contract.
var parts = map[promptbuilderv1.IdeaPart]idea.Field{
	promptbuilderv1.IdeaPart_IDEA_PART_TITLE:    idea.Title,
	promptbuilderv1.IdeaPart_IDEA_PART_KEYWORDS: idea.Keywords,
	promptbuilderv1.IdeaPart_IDEA_PART_GENRES:   idea.Genres,
	promptbuilderv1.IdeaPart_IDEA_PART_SYNOPSIS: idea.Synopsis,
	promptbuilderv1.IdeaPart_IDEA_PART_SETTING:  idea.Setting,
	promptbuilderv1.IdeaPart_IDEA_PART_PLOT:     idea.Plot,
}

// ParseIdea reads a model's answer.
func (s *Server) ParseIdea(_ context.Context, req *promptbuilderv1.ParseIdeaRequest) (*promptbuilderv1.ParseIdeaResponse, error) {
	f := &apierr.Fields{}
	f.Required(req)
	f.Size("text", req.GetText(), maxIdea)
	var wanted []idea.Field
	for i, part := range req.GetParts() {
		field := fmt.Sprintf("parts[%d]", i)
		known(f, field, part)
		if part == promptbuilderv1.IdeaPart_IDEA_PART_UNSPECIFIED {
			f.Add(field, "must name a part")
		}
		wanted = append(wanted, parts[part])
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	return fromIdea(idea.Parse(req.GetText(), wanted)), nil
}

func fromIdea(i idea.Idea) *promptbuilderv1.ParseIdeaResponse {
	res := &promptbuilderv1.ParseIdeaResponse{Rest: i.Rest, Story: &commonv1.Story{
		Title: given(i.Title), Synopsis: given(i.Synopsis), Setting: given(i.Setting), Plot: given(i.Plot),
		Keywords: i.Keywords, Genres: i.Genres,
	}}
	for _, missing := range i.Missing {
		for word, part := range parts {
			if part == missing {
				res.Missing = append(res.Missing, word)
			}
		}
	}
	for _, e := range i.Extra {
		res.Extra = append(res.Extra, &promptbuilderv1.IdeaExtra{Header: e.Header, Text: e.Text})
	}
	return res
}

// given is a field that is set, nil for one that is not there.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
