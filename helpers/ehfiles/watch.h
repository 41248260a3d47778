/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file watch.h  Changes in directories: inotify, except for changes that requests made. */
#ifndef EHFILES_WATCH_H
#define EHFILES_WATCH_H

#include "folder.h"

/** What is told goes to `out`. 0 or -ENOMEM. */
int watch_init(struct event_base *base, struct stream *out);
/** Whether changes in it are reported from now on. */
bool watch_folder(struct folder *f);
void watch_forget(struct folder *f);
/** The request under way makes such a change (FILES_NEWS_NAME, FILES_NEWS_ATTR) of this name itself, and
 *  its answer says so; at most three names. Another process may have made one too: after a change of
 *  the name watch_confirm() finds out. Without a name: the request is done. */
void watch_own(uint64_t dir, const char *name, uint32_t flags);
/** Notes all changes until now, except those of watch_own(). */
void watch_look(void);
void watch_note(const struct folder *f, const char *name, uint32_t flags);
/** Sends what was noted; to be called before any answer. */
void watch_tell(void);

/** After the answer: if the name does not lead to this file (0: to none), another process has changed it
 *  too, and that is noted; at most two names. */
void watch_confirm(uint64_t dir, const char *name, uint64_t ino);
/** The answer was sent: does so. */
void watch_confirm_all(void);

#endif
