// SPDX-License-Identifier: GPL-2.0-or-later
#include "page.h"

#include <stdio.h>
#include <string.h>
#include <event2/http.h>

#include "http.h"
#include "key.h"

#define PAGE_MARK "@NONCE@" /* twice in it: of its style and of its script */

/* Found from the top of the tree, where everything is compiled. */
__asm__(".pushsection .rodata\n"
	"page_text:\n"
	".incbin \"tools/ehmetrics/page.html\"\n"
	".byte 0\n"
	".popsection\n");
extern const char page_text[] __attribute__((visibility("hidden")));

/* With a word in place of each mark, which the browser is told: no other script runs. */
static char *page_make(const char *nonce)
{
	const char *at = page_text, *mark;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	for (; (mark = strstr(at, PAGE_MARK)); at = mark + strlen(PAGE_MARK))
		fprintf(to, "%.*s%s", (int)(mark - at), at, nonce);
	fputs(at, to);
	return fclose(to) ? NULL : text;
}

void page_answer(struct http *http, struct evhttp_request *request)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
	char policy[512];
	struct key nonce;

	if (key_make(&nonce)) {
		http_refuse(http, request, 503, "no random numbers");
		return;
	}
	snprintf(
		policy, sizeof(policy),
		"default-src 'none'; connect-src 'self'; img-src data:; style-src 'nonce-%s'; "
		"script-src 'nonce-%s'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		nonce.text, nonce.text);
	evhttp_add_header(headers, "Content-Security-Policy", policy);
	evhttp_add_header(headers, "Referrer-Policy", "no-referrer");
	http_send(http, request, 200, "text/html; charset=utf-8", page_make(nonce.text));
}
