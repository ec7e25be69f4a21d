// Command shot takes a picture of a page with Chromium, for the README and for
// work on the report's design. An output that ends in .pdf is printed.
//
//	go run ./internal/report/shot [-dark] [-width 1280] [-height 0] in.html out.png
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"whichfs/internal/report/chromium"
)

func main() {
	var v chromium.View
	flag.BoolVar(&v.Dark, "dark", false, "dark theme")
	flag.BoolVar(&v.Print, "print", false, "the style of printed pages")
	flag.Int64Var(&v.Width, "width", 1280, "width of the window in pixels")
	flag.Int64Var(&v.Height, "height", 0, "height of the picture in pixels; 0 takes the whole page")
	flag.Float64Var(&v.Scale, "scale", 1, "pixels of the picture per pixel of the page")
	open := flag.Bool("open", false, "open all details")
	at := flag.String("at", "", "id of the element to scroll to")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: shot [flags] in.html out.png")
		os.Exit(2)
	}
	if err := shoot(flag.Arg(0), flag.Arg(1), v, *open, *at); err != nil {
		fmt.Fprintln(os.Stderr, "shot:", err)
		os.Exit(1)
	}
}

func shoot(in, out string, v chromium.View, open bool, at string) error {
	ctx, stop, err := chromium.New(context.Background())
	if err != nil {
		return err
	}
	defer stop()
	whole := v.Height == 0
	if whole {
		v.Height = 900
	}
	load, err := chromium.Open(in)
	if err != nil {
		return err
	}
	if err := chromedp.Do(ctx, chromium.Look(v), load); err != nil {
		return err
	}
	if open {
		if _, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void]("document.querySelectorAll('details').forEach(d => d.open = true)")); err != nil {
			return err
		}
	}
	if at != "" {
		script := fmt.Sprintf("document.documentElement.style.scrollBehavior = 'auto'; document.getElementById(%q).scrollIntoView()", at)
		if _, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](script)); err != nil {
			return err
		}
	}
	take := picture(whole)
	if filepath.Ext(out) == ".pdf" {
		take = chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4), func(p *page.PrintToPDFParams) {
			yes := true
			p.PreferCSSPageSize = &yes
		})
	}
	data, err := chromedp.Run(ctx, take)
	if err != nil {
		return err
	}
	return os.WriteFile(out, data, 0o644)
}

func picture(whole bool) chromedp.Action[[]byte] {
	return func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		yes := true
		p := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng, FromSurface: &yes}
		if whole {
			p.CaptureBeyondViewport = &yes
		}
		r, err := cdp.Call(ctx, t, page.CaptureScreenshot, p)
		if err != nil {
			return nil, err
		}
		return r.Data, nil
	}
}
