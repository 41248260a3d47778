/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file page.h  The page: a document with its style and scripts, which become parts of the program. */
#ifndef EHMETRICS_PAGE_H
#define EHMETRICS_PAGE_H

struct evhttp_request;
struct http;

/** Answers with the file that the request names. */
void page_answer(struct http *http, struct evhttp_request *request);

#endif
