package filesystem

// Ext4 is the default filesystem of most distributions.
func Ext4() Filesystem {
	return Filesystem{Name: "ext4", Title: "ext4", Module: "ext4"}
}
