package llm

import (
	"context"
	"errors"
	"io"
	"strings"
)

// Receive asks for an answer and takes all of it. One that is longer than most bytes is left there, and counts as cut: FinishLength. Beside
// an error stands what is known of the answer.
func Receive(ctx context.Context, g Generator, req Request, most int) (string, Result, error) {
	stream, err := g.Generate(ctx, req)
	if err != nil {
		return "", Result{}, err
	}
	//nolint:errcheck // an answer that was received is not worse for a connection that closes badly
	defer stream.Close()
	var text strings.Builder
	for text.Len() < most {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return text.String(), stream.Result(), nil
		}
		if err != nil {
			return "", stream.Result(), err
		}
		text.WriteString(piece)
	}
	result := stream.Result()
	result.Finish = FinishLength
	return text.String(), result, nil
}
