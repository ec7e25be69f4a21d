package doc

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
)

//go:embed site.css
var siteStyle string

// Site is what a server's pages have besides their documents. The zero value is no server: a page
// that is one file.
type Site struct {
	Links []Link // at the top of every page
	// Base is the address of the document, with a slash at its end, to which cells' origins are relative.
	Base string
	// Events is the address of server-sent events, each of which says that the page has changed, and
	// Script that of the script that then loads it anew. Without scripts it is loaded anew by itself.
	// Empty: the page does not change.
	Events, Script string
}

// reload is how often a page that changes is loaded anew without scripts, in seconds.
const reload = 15

// HTML writes a document as a page of the site. The error is that of w.
func (s Site) HTML(w io.Writer, d Doc) error {
	p := &page{site: s}
	p.doc(d)
	_, err := io.WriteString(w, p.b.String())
	return err
}

// style is the style sheet of what only sites have.
func (s Site) style() string {
	if len(s.Links) == 0 {
		return ""
	}
	return siteStyle
}

// live are the elements of the head that keep a page up to date.
func (s Site) live() string {
	if s.Events == "" {
		return ""
	}
	return fmt.Sprintf("<script src=\"%s\" data-events=\"%s\" defer></script>\n<noscript><meta http-equiv=\"refresh\" content=\"%d\"></noscript>\n",
		attr(s.Script), attr(s.Events), reload)
}

// Link is a link of a site.
type Link struct {
	Text, Href string
	Current    bool // it leads to this page
}

// Links are links in a row, on pages alone.
type Links struct {
	Name string // for readers who cannot see its context
	List []Link
}

// Form is a form of a site.
type Form struct {
	ID, Name string // Name is for readers who cannot see its context
	Action   string
	Post     bool // it changes something
	Fields   []Field
	Submit   string  // on its button
	Body     []Block // whose rows are chosen with Check
}

// Field is one field of a form.
type Field struct {
	Name, Label, Value string
	Kind               FieldKind
	Options            []Option // of a choice; of a line, suggestions
	Hint               string   // an example, in an empty field
}

// FieldKind is the kind of a field.
type FieldKind uint8

// The kinds of fields.
const (
	Line FieldKind = iota
	Choice
	Area   // several lines
	Secret // a line that nobody else is to read
	Hidden
)

// Option is a value to choose; its text is shown, and is the value if that is empty.
type Option struct{ Value, Text string }

// Check is a box to tick.
type Check struct {
	Name, Value string
	Label       string // for readers who cannot see the row
}

func (c Check) html() string {
	return fmt.Sprintf(`<input type="checkbox" name="%s" value="%s" aria-label="%s"> `, attr(c.Name), attr(c.Value), attr(c.Label))
}

func (p *page) links(class, name string, list []Link) {
	if len(list) == 0 {
		return
	}
	p.f("<nav class=\"%s\" aria-label=\"%s\"><ul>\n", class, attr(name))
	for _, l := range list {
		current := ""
		if l.Current {
			current = ` aria-current="page"`
		}
		p.f("<li><a href=\"%s\"%s>%s</a></li>\n", attr(l.Href), current, esc(l.Text))
	}
	p.f("</ul></nav>\n")
}

func (p *page) form(f Form) {
	method := "get"
	if f.Post {
		method = "post"
	}
	p.f("<form method=\"%s\" action=\"%s\"%s aria-label=\"%s\">\n", method, attr(f.Action), id(f.ID), attr(f.Name))
	open := false
	for i, x := range f.Fields {
		if x.Kind == Hidden {
			p.f("<input type=\"hidden\" name=\"%s\" value=\"%s\">\n", attr(x.Name), attr(x.Value))
			continue
		}
		if !open {
			p.f("<div class=\"fields\">\n")
			open = true
		}
		p.field(fmt.Sprintf("%s-%s-%d", Slug(f.Name), Slug(x.Name), i), x)
	}
	if open {
		p.f("</div>\n")
	}
	p.blocks(f.Body)
	p.f("<p class=\"submit\"><button>%s</button></p>\n</form>\n", esc(f.Submit))
}

func (p *page) field(id string, x Field) {
	p.f("<p><label for=\"%s\">%s</label>", id, esc(x.Label))
	hint := ""
	if x.Hint != "" {
		hint = fmt.Sprintf(` placeholder="%s"`, attr(x.Hint))
	}
	switch x.Kind {
	case Choice:
		p.f("<select id=\"%s\" name=\"%s\">", id, attr(x.Name))
		for _, o := range x.Options {
			chosen := ""
			if o.Value == x.Value {
				chosen = " selected"
			}
			p.f("<option value=\"%s\"%s>%s</option>", attr(o.Value), chosen, attr(o.text()))
		}
		p.f("</select>")
	case Area:
		// A line break right after the tag is not content.
		p.f("<textarea id=\"%s\" name=\"%s\" rows=\"3\"%s>\n%s</textarea>", id, attr(x.Name), hint, attr(x.Value))
	case Secret:
		// Browsers that keep secrets keep them by user.
		p.f("<input name=\"user\" autocomplete=\"username\" value=\"whichfs\" aria-label=\"User\" hidden><input id=\"%s\" name=\"%s\" type=\"password\" autocomplete=\"current-password\" required>", id, attr(x.Name))
	default:
		list := ""
		if len(x.Options) > 0 {
			list = fmt.Sprintf(` list="%s-list"`, id)
		}
		p.f("<input id=\"%s\" name=\"%s\" value=\"%s\"%s%s>", id, attr(x.Name), attr(x.Value), list, hint)
		if list != "" {
			p.f("<datalist id=\"%s-list\">", id)
			for _, o := range x.Options {
				p.f("<option value=\"%s\">%s</option>", attr(o.Value), attr(strings.TrimSpace(o.text())))
			}
			p.f("</datalist>")
		}
	}
	p.f("</p>\n")
}

func (o Option) text() string {
	if o.Text == "" {
		return o.Value
	}
	return o.Text
}
