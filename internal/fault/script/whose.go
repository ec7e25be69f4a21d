package script

// Whose identifies the origin of a sector by the words that scripts write: the
// path, and the number of the operation that wrote it, 0 for the setup. ok is false
// if no operation of this script wrote it.
func (s Script) Whose(sector []byte) (path string, op int, ok bool) {
	o, ok := originOf(sector)
	if !ok {
		return "", 0, false
	}
	if o.op >= setupBase {
		o.op = 0
	}
	for _, list := range [][]Op{s.Setup, s.Ops} {
		for _, one := range list {
			for _, name := range []string{one.Path, one.To} {
				if name != "" && pathHash(name) == o.hash {
					return name, o.op, true
				}
			}
		}
	}
	return "", 0, false
}
