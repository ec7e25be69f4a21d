package main

type predictCmd struct {
	planned

	Storage []string `complete:"model" sep:";" help:"Model of the card: a name (whichfs list models) or the file that whichfs twin fit wrote, with a size if it is not the model's own: my-card.toml,2G. Several, separated by semicolons or given repeatedly, make a series." placeholder:"TWIN"`
	CPU     []string `complete:"processor" name:"cpu" sep:"none" help:"Processor: a board (whichfs list processors), a speed (600MIPS: each instruction takes the same time) or the path of a profile. Several, separated by commas or given repeatedly (with a comma in the path), make a series." placeholder:"PROFILE"`
}

func (c *predictCmd) Run(a *shell) error {
	q := c.ask()
	q.Predict, q.Storage, q.Processors = true, c.Storage, processors(c.CPU)
	return c.begin(a, q)
}
