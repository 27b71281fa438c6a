package transport

import (
	"context"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// CountTokens counts texts as the backend would.
func (s *Server) CountTokens(ctx context.Context, req *promptbuilderv1.CountTokensRequest) (*promptbuilderv1.CountTokensResponse, error) {
	f := &apierr.Fields{}
	f.Required(req)
	wrong(f, story.CheckCount(req.GetTexts()))
	if err := f.Err(); err != nil {
		return nil, err
	}
	c, err := s.stories.Count(ctx, req.GetBackend(), req.GetTexts())
	if err != nil {
		return nil, fault(err)
	}
	res := &promptbuilderv1.CountTokensResponse{Backend: fromBackend(c.Backend), Estimated: c.Estimated}
	for _, tokens := range c.Tokens {
		res.Tokens = append(res.Tokens, int32(tokens))
	}
	return res, nil
}
