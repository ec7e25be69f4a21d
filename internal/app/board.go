package app

import (
	"context"

	"whichfs/internal/host/machine/board"
	"whichfs/internal/plan"
	"whichfs/internal/result"
)

// ExamineBoard finds out what a board has of what trials need.
func (a *App) ExamineBoard(ctx context.Context, name string, power bool) (board.Examined, error) {
	if !plan.OnBoard(name) {
		return board.Examined{}, result.Refuse("whichfs doctor checks this machine", "machine %q is no board; boards are %s, or the path of a board's file (.toml)", name, plan.Boards)
	}
	m, err := board.New(name, board.Options{Progress: a.Note, Installed: a.AgentPath})
	if err != nil {
		return board.Examined{}, err
	}
	defer a.giveBack(m)
	return m.Examine(ctx, power)
}
