# There is no public page to name.
SUMMARY = "Part of whichfs that runs next to the storage"
DESCRIPTION = "Measures the processor of a board, and carries out trials of filesystems for a whichfs on another machine."
CVE_PRODUCT = "whichfs"
SECTION = "console/utils"
LICENSE = "Apache-2.0"
LIC_FILES_CHKSUM = "file://LICENSE;md5=3b83ef96387f14655fc854ddc3c6bd57"

# The source with all its modules, as make dist of whichfs writes it: its directory and its version.
WHICHFS_DIST ?= ""
WHICHFS_VERSION ?= "0"
PV = "${WHICHFS_VERSION}"

SRC_URI = "file://${WHICHFS_DIST}/whichfs-${PV}-vendored.tar.gz"

S = "${UNPACKDIR}/whichfs-${PV}"

inherit go

# It is static: guests of whichfs have no libraries, and boards may have none.
export CGO_ENABLED = "0"

do_configure[noexec] = "1"

do_compile() {
    cd ${S}
    # whichfs refuses an agent of another version. The text is as long for every version.
    stamp=$(printf %-32.32s "$(cat VERSION)" | tr ' ' .)
    ${GO} build -mod=vendor -trimpath -buildvcs=false \
        -ldflags "-X 'main.stamp=whichfs-agent version $stamp'" -o ${B}/whichfs-agent ./cmd/whichfs-agent
}

do_install() {
    install -D -m 0755 ${B}/whichfs-agent ${D}${bindir}/whichfs-agent
    install -D -m 0644 ${S}/cmd/whichfs-agent/whichfs-agent.1 ${D}${mandir}/man1/whichfs-agent.1
}
