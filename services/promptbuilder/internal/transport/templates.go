package transport

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/template"
)

const (
	templates = "templates/"
	// maxValues bounds the values of a text, in bytes.
	maxValues = 2 << 20
)

// ListTemplates tells the default texts of a language.
func (*Server) ListTemplates(_ context.Context, req *promptbuilderv1.ListTemplatesRequest) (*promptbuilderv1.ListTemplatesResponse, error) {
	locale, err := toLocale(&apierr.Fields{}, req.GetLocale())
	if err != nil {
		return nil, err
	}
	res := &promptbuilderv1.ListTemplatesResponse{}
	for _, id := range template.IDs() {
		res.Templates = append(res.Templates, fromTemplate(locale, id))
	}
	return res, nil
}

// GetTemplate tells one of them.
func (*Server) GetTemplate(_ context.Context, req *promptbuilderv1.GetTemplateRequest) (*promptbuilderv1.Template, error) {
	f := &apierr.Fields{}
	f.Required(req)
	locale, err := toLocale(f, req.GetLocale())
	if err != nil {
		return nil, err
	}
	id, err := toTemplate(req.GetName())
	if err != nil {
		return nil, err
	}
	return fromTemplate(locale, id), nil
}

// RenderTemplate fills one of them.
func (*Server) RenderTemplate(_ context.Context, req *promptbuilderv1.RenderTemplateRequest) (*promptbuilderv1.RenderTemplateResponse, error) {
	f := &apierr.Fields{}
	f.Required(req)
	size := 0
	for _, value := range req.GetValues() {
		size += len(value)
	}
	if size > maxValues {
		f.Add("values", "must have at most %d bytes, and have %d", maxValues, size)
	}
	locale, err := template.Locale(req.GetLocale())
	if err != nil {
		f.Add("locale", "%v", err)
		locale = template.Japanese // The placeholders of a text are the same in every language.
	}
	id, unknown := toTemplate(req.GetName())
	var text string
	if unknown == nil {
		var problems []template.Wrong
		text, problems = template.Render(locale, id, req.GetValues())
		for _, w := range problems {
			f.Add("values["+strconv.Quote(w.ID)+"]", "%s", w.Problem)
		}
	}
	if err := cmp.Or(f.Err(), unknown); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(text))
	return &promptbuilderv1.RenderTemplateResponse{Text: text, Sha256: hex.EncodeToString(sum[:])}, nil
}

// toLocale reads a locale; the error holds what was wrong before, too.
func toLocale(f *apierr.Fields, tag string) (string, error) {
	locale, err := template.Locale(tag)
	if err != nil {
		f.Add("locale", "%v", err)
	}
	return locale, f.Err()
}

// toTemplate reads the name of a text.
func toTemplate(name string) (id string, err error) {
	id, ok := strings.CutPrefix(name, templates)
	if ok && slices.Contains(template.IDs(), id) {
		return id, nil
	}
	return "", apierr.New(codes.NotFound, "UNKNOWN_TEMPLATE",
		"there is no such text; ListTemplates tells all").About("name", "there is no text of this name; there are templates/"+strings.Join(template.IDs(), ", templates/"))
}

func fromTemplate(locale, id string) *promptbuilderv1.Template {
	return &promptbuilderv1.Template{
		Name: templates + id, Locale: locale, Text: template.New(locale, nil).Text(id), Placeholders: template.Placeholders(locale, id),
	}
}
