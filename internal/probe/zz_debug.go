package probe

import "fmt"

func init() { debug = func(a ...any) { fmt.Println(a...) } }
