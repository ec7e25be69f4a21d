package chromium

import (
	"context"
	"slices"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Watch records what pages cause in a browser that a report's page must not.
type Watch struct {
	own      func(url string) bool
	mu       sync.Mutex
	problems []string
}

// Observe records messages, exceptions and dialogs from now on, and requests for anything but own.
func Observe(ctx context.Context, own func(url string) bool) (*Watch, error) {
	w := &Watch{own: own}
	if err := chromedp.Listen(ctx, w.event); err != nil {
		return nil, err
	}
	return w, chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		if _, err := cdp.Call(ctx, tab, network.Enable, network.EnableParams{}); err != nil {
			return err
		}
		if _, err := cdp.Call(ctx, tab, cdplog.Enable, cdp.Empty{}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, tab, runtime.Enable, cdp.Empty{})
		return err
	}))
}

func (w *Watch) event(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		w.problems = append(w.problems, "console: "+string(ev.Type))
	case *runtime.EventExceptionThrown:
		w.problems = append(w.problems, "exception: "+ev.ExceptionDetails.Text)
	case *cdplog.EventEntryAdded:
		w.problems = append(w.problems, "log: "+ev.Entry.Text)
	case *page.EventJavascriptDialogOpening:
		w.problems = append(w.problems, "dialog: "+ev.Message)
	case *network.EventRequestWillBeSent:
		if !w.own(ev.Request.URL) {
			w.problems = append(w.problems, "request: "+ev.Request.URL)
		}
	}
}

// Problems are what was recorded.
func (w *Watch) Problems() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.problems)
}

// Forget removes what a test has caused on purpose.
func (w *Watch) Forget(caused func(problem string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = slices.DeleteFunc(w.problems, caused)
}
