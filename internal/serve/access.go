package serve

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"whichfs/internal/report/doc"
)

// LeastToken is the least length of a token that a user chooses.
const LeastToken = 16

// NewToken draws one.
func NewToken() string { return strings.ToLower(rand.Text()) }

// policy lets pages load nothing but this server's own script, and talk to nobody else. Bars have
// their lengths in their own style attributes.
const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard refuses what no page may do: being asked under a name that is not ours (DNS rebinding), from
// another site, or by somebody without the token.
func (s *Server) guard(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(s.page(func(http.ResponseWriter, *http.Request) error {
		return refuse(http.StatusForbidden, "use the form on this server's own page", "the request came from another site")
	}))
	inner := cross.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		open := r.URL.Path == "/token"
		switch {
		case !s.named(r.Host):
			s.fail(w, r, refuse(http.StatusMisdirectedRequest, "whichfs serve --name lets the server be called by it", "this server is not called %q", r.Host))
		case !open && (s.Locked || !local(r.RemoteAddr)) && !s.authorised(r):
			s.fail(w, r, needToken("read this"))
		default:
			inner.ServeHTTP(w, r)
		}
	})
}

// named reports whether the server may be called by a host name. A name of the domain name system can
// be made to lead here by anyone; an address cannot.
func (s *Server) named(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost" || slices.Contains(s.Names, host)
}

func local(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	return err == nil && at.Addr().Unmap().IsLoopback()
}

const cookieName = "whichfs"

// session is what the browser keeps in place of the token.
func (s *Server) session() string {
	m := hmac.New(sha256.New, []byte(s.Token))
	m.Write([]byte("session"))
	return hex.EncodeToString(m.Sum(nil))
}

func same(a, b string) bool { return b != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// authorised reports whether a request has the token: in a header, or as the cookie of the form.
func (s *Server) authorised(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return same(token, s.Token)
	}
	c, err := r.Cookie(cookieName)
	return err == nil && s.Token != "" && same(c.Value, s.session())
}

func needToken(to string) error {
	return refuse(http.StatusUnauthorized, "whichfs serve printed it when it began; programs send it as the header Authorization: Bearer TOKEN", "the token is needed to %s", to)
}

func tokenForm(next string) doc.Form {
	return doc.Form{Name: "Token", Action: "/token", Post: true, Submit: "Continue", Fields: []doc.Field{
		{Name: "token", Label: "Token", Kind: doc.Secret}, {Name: "next", Value: next, Kind: doc.Hidden}}}
}

func (s *Server) askToken(w http.ResponseWriter, r *http.Request) error {
	d := doc.Doc{Title: "Token", Kicker: "whichfs serve", Version: s.App.Version, Sections: []doc.Section{{ID: "token", Title: "Who may write", Body: []doc.Block{
		doc.Para{Text: "With the token, this browser may write notes and cancel runs. whichfs serve printed it when it began."}, tokenForm("/runs")}}}}
	return s.show(w, r, d, doc.Site{})
}

// takeToken gives a browser that has the token a cookie, and leads back.
func (s *Server) takeToken(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return refuse(http.StatusBadRequest, "", "the form cannot be read: %v", err)
	}
	if !same(r.PostForm.Get("token"), s.Token) {
		return refuse(http.StatusUnauthorized, "whichfs serve printed it when it began", "this is not the token")
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: s.session(), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
	next := r.PostForm.Get("next")
	if !strings.HasPrefix(next, "/") || strings.ContainsAny(next, "\\\r\n") || strings.HasPrefix(next, "//") {
		next = "/runs"
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}
