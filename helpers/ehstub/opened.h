/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file opened.h  Open files of the task beside the usual ones, while it runs. */
#ifndef EHSTUB_OPENED_H
#define EHSTUB_OPENED_H

#include <stdint.h>

struct stub;
struct job_message;

struct source *opened_source(struct stub *s, uint32_t channel); /**< NULL: none */
struct sink *opened_sink(struct stub *s, uint32_t channel); /**< NULL: none */
void opened_begin(struct stub *s); /**< the task runs: uses what the executor has not opened */
int opened_on_message(struct stub *s, const struct job_message *m); /**< 0 or -EPROTO */
void opened_end(struct stub *s); /**< the task has ended: it reads no more */
/** Takes the locks that the task has left. 0, -EAGAIN or, after the limit of the job, -ETIMEDOUT. */
int opened_lock(struct stub *s);
const char *opened_again(struct stub *s); /**< for a second run. NULL; or why it is not possible */
/** The task was killed, or is lost: what it had taken of tokens and not put back is put back for it. */
void opened_make_up(struct stub *s);

#endif
