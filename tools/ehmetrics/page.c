// SPDX-License-Identifier: GPL-2.0-or-later
#include "page.h"

#include <string.h>
#include <event2/http.h>

#include "http.h"

/* Found from the top of the tree, where everything is compiled. */
#define PAGE_FILE(name, path)                                                            \
	__asm__(".pushsection .rodata\n" #name ":\n.incbin \"tools/ehmetrics/page/" path \
		"\"\n.byte 0\n.popsection\n");                                           \
	extern const char name[] __attribute__((visibility("hidden")))

PAGE_FILE(page_html, "page.html");
PAGE_FILE(page_css, "page.css");
PAGE_FILE(page_base, "base.js");
PAGE_FILE(page_nodes, "nodes.js");
PAGE_FILE(page_events, "events.js");
PAGE_FILE(page_history, "history.js");
PAGE_FILE(page_gantt, "gantt.js");
PAGE_FILE(page_plan, "plan.js");

#define PAGE_SCRIPT "text/javascript; charset=utf-8"

static const struct {
	const char *path, *type, *text;
} pages[] = {
	{ "/", "text/html; charset=utf-8", page_html },
	{ "/page.css", "text/css; charset=utf-8", page_css },
	{ "/base.js", PAGE_SCRIPT, page_base },
	{ "/nodes.js", PAGE_SCRIPT, page_nodes },
	{ "/events.js", PAGE_SCRIPT, page_events },
	{ "/history.js", PAGE_SCRIPT, page_history },
	{ "/gantt.js", PAGE_SCRIPT, page_gantt },
	{ "/plan.js", PAGE_SCRIPT, page_plan },
};

/* No script but those files runs: nothing else that is told here has the type of one. */
#define PAGE_POLICY                                                                     \
	"default-src 'none'; connect-src 'self'; img-src data:; style-src 'self'; "     \
	"script-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; " \
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

void page_answer(struct http *http, struct evhttp_request *request)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
	const char *uri = evhttp_request_get_uri(request);
	const size_t length = strcspn(uri, "?");

	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		if (strlen(pages[i].path) != length || strncmp(pages[i].path, uri, length))
			continue;
		evhttp_add_header(headers, "Content-Security-Policy", PAGE_POLICY);
		evhttp_add_header(headers, "Referrer-Policy", "no-referrer");
		http_send(http, request, 200, pages[i].type, strdup(pages[i].text));
		return;
	}
	http_refuse(http, request, 404, "nothing is here");
}
