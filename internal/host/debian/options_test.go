package debian

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWantedOptions(t *testing.T) {
	got := wantedOptions("APT \"\";\nAPT::Architecture \"amd64\";\nAcquire::http::Proxy \"http://p:3142\";\nAcquire::http::Proxy::host \"DIRECT\";\n" +
		"Acquire::Check-Date \"false\";\nAcquire::https::CaInfo \"/etc/x.pem\";\nAcquire::Retries \"3\";\nAcquire::Languages \"de\";\nAcquire::http::Empty \"\";\nDPkg::Pre-Invoke:: \"rm x\";\n")
	want := []string{`Acquire::http::Proxy "http://p:3142";`, `Acquire::http::Proxy::host "DIRECT";`, `Acquire::Check-Date "false";`,
		`Acquire::https::CaInfo "/etc/x.pem";`, `Acquire::Retries "3";`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
