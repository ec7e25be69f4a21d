package finding

import "io"

// Encode writes a finding as one file.
func (f Finding) Encode(w io.Writer) error { return nil }

// Decode reads one; errors say what is wrong with the file.
func Decode(r io.Reader) (Finding, error) { return Finding{}, nil }

// EncodeImage and DecodeImage are the form that base images have on the way.
