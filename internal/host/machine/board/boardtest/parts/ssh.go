package parts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"whichfs/internal/sys/command"
)

// The names of the keys in their directory: the server's and the client's, each with a public part.
const (
	HostKey   = "host"
	ClientKey = "client"
)

// Client makes the keys of a server at a port of this host and of its client in a directory, and the client's
// configuration, in which the server is the host "board"; further lines come first. It returns the configuration's path.
func Client(ctx context.Context, dir string, port int, further string) (config string, err error) {
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{HostKey, ClientKey} {
		if _, err := command.Run(ctx, command.Options{}, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "board", "-f", at(name)); err != nil {
			return "", err
		}
	}
	public, err := os.ReadFile(at(HostKey + ".pub"))
	if err != nil {
		return "", err
	}
	config = at("ssh_config")
	text := fmt.Sprintf("%s\nHost board\n HostName 127.0.0.1\n Port %d\n User root\n IdentityFile %s\n IdentitiesOnly yes\n UserKnownHostsFile %s\n GlobalKnownHostsFile /dev/null\n StrictHostKeyChecking yes\n",
		further, port, at(ClientKey), at("known"))
	host := strings.Join(strings.Fields(string(public))[:2], " ")
	return config, errors.Join(
		os.WriteFile(at("known"), fmt.Appendf(nil, "[127.0.0.1]:%d %s\n", port, host), 0o600),
		os.WriteFile(config, []byte(text), 0o600))
}
