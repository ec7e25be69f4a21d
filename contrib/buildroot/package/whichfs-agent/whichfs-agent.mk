################################################################################
#
# whichfs-agent
#
################################################################################

# The source with all its modules, as "make dist" of whichfs writes it.
WHICHFS_AGENT_VERSION = $(call qstrip,$(BR2_PACKAGE_WHICHFS_AGENT_VERSION))
WHICHFS_AGENT_SOURCE = whichfs-$(WHICHFS_AGENT_VERSION)-vendored.tar.gz
WHICHFS_AGENT_SITE = $(call qstrip,$(BR2_PACKAGE_WHICHFS_AGENT_DIRECTORY))
WHICHFS_AGENT_SITE_METHOD = file
# Whoever made the archive has no hash of it here; SHA256SUMS is beside it.
BR_NO_CHECK_HASH_FOR += $(WHICHFS_AGENT_SOURCE)
WHICHFS_AGENT_LICENSE = Apache-2.0
WHICHFS_AGENT_LICENSE_FILES = LICENSE

WHICHFS_AGENT_GOMOD = whichfs
WHICHFS_AGENT_BUILD_TARGETS = cmd/whichfs-agent

# It is static: guests of whichfs have no libraries, and boards may have none.
WHICHFS_AGENT_GO_ENV = CGO_ENABLED=0

# whichfs refuses an agent of another version. The text is as long for every
# version, see the Makefile of whichfs.
WHICHFS_AGENT_LDFLAGS = \
	-X 'main.stamp=whichfs-agent version $$(printf %-32.32s $$(cat VERSION) | tr ' ' .)'

$(eval $(golang-package))
