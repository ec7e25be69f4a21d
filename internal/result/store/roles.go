package store

import (
	_ "embed"
	"strings"

	"whichfs/internal/result"
)

//go:embed roles.sql
var roles string

// Roles is the SQL by which the owner of a database lets others use the store.
func (s *Store) Roles() (string, error) {
	p, ok := s.engine.(*postgres)
	if !ok {
		return "", result.Refuse("name a database: --store postgres://OWNER@HOST/DATABASE", "results store %s is a file: its permissions say who may use it", s.path)
	}
	return strings.ReplaceAll(roles, "@schema@", p.schema), nil
}
