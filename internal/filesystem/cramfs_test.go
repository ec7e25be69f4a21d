package filesystem

import "testing"

func TestVerifyCramfs(t *testing.T) {
	verifyFixture(t, "cramfs", "-n Compressed -n lab -e 0 -e 7 -z -p -s -N little -N big -E", yes, alt, yes, alt, ign, ign, ign, yes, alt, unv)
	verifyFixture(t, "cramfs-holes", "-n lab -e 7 -z -N host", yes, yes, yes, yes)
	verifyFixture(t, "cramfs-padded", "-p -z", yes, ign)
	if _, err := Parse("cramfs -i /etc/shadow"); err == nil {
		t.Error("mkfs.cramfs may read any file")
	}
}
