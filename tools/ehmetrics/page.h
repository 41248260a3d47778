/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file page.h  The page: one document, which is in page.html and becomes a part of the program. */
#ifndef EHMETRICS_PAGE_H
#define EHMETRICS_PAGE_H

struct evhttp_request;
struct http;

/** Answers with the page. */
void page_answer(struct http *http, struct evhttp_request *request);

#endif
