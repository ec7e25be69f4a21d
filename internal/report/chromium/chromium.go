// Package chromium opens a report's page in Debian's Chromium, for tests and
// for pictures. whichfs itself never needs a browser.
package chromium

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// New starts a headless browser with an empty profile and no network traffic of
// its own. The function ends it and removes the profile.
func New(parent context.Context) (context.Context, func(), error) {
	profile, err := os.MkdirTemp("", "whichfs-chromium")
	if err != nil {
		return nil, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.UserDataDir(profile),
		chromedp.Env("TMPDIR="+profile), // its leftovers are removed with the profile
		chromedp.Flag("no-sandbox", true),
		chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("no-first-run", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("hide-scrollbars", true),
	)
	allocator, endAllocator := chromedp.NewExecAllocator(parent, options...)
	ctx, end := chromedp.NewContext(allocator)
	stop := func() {
		_ = chromedp.Cancel(ctx) // waits until it has ended and stopped writing
		end()
		endAllocator()
		os.RemoveAll(profile)
	}
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return nil, nil, err
	}
	return ctx, stop, nil
}

// View is how a page is displayed.
type View struct {
	Dark          bool
	Print         bool    // the style of printed pages
	Width, Height int64   // of the window, in pixels
	Scale         float64 // pixels of a picture per pixel of the page; 0 means 1
}

// Look sets the theme and the window size.
func Look(v View) chromedp.Action[chromedp.Void] {
	theme, media := "light", ""
	if v.Dark {
		theme = "dark"
	}
	if v.Print {
		media = "print"
	}
	if v.Scale == 0 {
		v.Scale = 1
	}
	return chromedp.Steps(
		chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Media:    media,
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
			})
			return err
		}),
		chromedp.EmulateViewport(v.Width, v.Height, chromedp.EmulateScale(v.Scale)),
	)
}

// Open loads a file, or an address of the web.
func Open(path string) (chromedp.Action[chromedp.Void], error) {
	if strings.HasPrefix(path, "http://") {
		return chromedp.Navigate(path), nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return chromedp.Navigate("file://" + abs), nil
}
