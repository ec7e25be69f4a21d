package main

import (
	"cmp"
	"fmt"
	"net"
	"os"

	"whichfs/internal/result"
	"whichfs/internal/serve"
)

type serveCmd struct {
	Listen string   `help:"Address and port. With another address than this machine's own, everyone who has the token may read; nothing is encrypted, which a proxy in front of it can do." default:"127.0.0.1:8377" placeholder:"ADDRESS:PORT"`
	Name   []string `help:"Host name by which browsers call the server, besides localhost and addresses; repeatable." placeholder:"NAME"`
	Locked bool     `help:"Ask localhost for the token, too: behind a proxy, everyone comes from there."`
}

// tokenVariable names the environment variable with the token.
const tokenVariable = "WHICHFS_TOKEN"

func (c *serveCmd) Run(a *shell) error {
	token, chosen := os.LookupEnv(tokenVariable)
	if chosen && len(token) < serve.LeastToken {
		return result.Refuse("leave it unset, and whichfs draws one", "%s has %d characters, and must have at least %d", tokenVariable, len(token), serve.LeastToken)
	}
	path, err := a.StorePath()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return result.Refuse("--listen 127.0.0.1:0 takes any free port", "--listen: %v", err)
	}
	s := &serve.Server{App: a.App, Token: cmp.Or(token, serve.NewToken()), Names: c.Name, Locked: c.Locked}
	if !chosen {
		a.note("The token to write notes and cancel runs, and to read from elsewhere: " + s.Token)
	}
	if at, ok := l.Addr().(*net.TCPAddr); ok && !at.IP.IsLoopback() {
		a.note("Others can reach this address; the token and the pages travel unencrypted.")
	}
	if _, err := fmt.Fprintf(a.stdout, "%s at http://%s/\n", path, l.Addr()); err != nil {
		return err
	}
	return s.Serve(a.ctx, l)
}
