/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file api.h
 * What the page reads, as JSON: what ehctl shows by --json, and nothing that changes anything. Tasks
 * are told only to callers with the key.
 */
#ifndef EHMETRICS_API_H
#define EHMETRICS_API_H

struct evhttp_request;
struct http;

/** GET /api/status: of all nodes. */
void api_status(struct http *http, struct evhttp_request *request);
/** GET /api/events?after=N: those that are kept, or with "Accept: text/event-stream" those and all that
 *  come. */
void api_events(struct http *http, struct evhttp_request *request);
/** GET /api/tasks */
void api_tasks(struct http *http, struct evhttp_request *request);
/** GET /api/history?limit=N&before=ROW and the filters of `ehctl history`: user (a number, or the caller's own
 *  name), since, until, program, node, reason, session, failed. */
void api_history(struct http *http, struct evhttp_request *request);
/** GET /api/why?id=ID */
void api_why(struct http *http, struct evhttp_request *request);

#endif
