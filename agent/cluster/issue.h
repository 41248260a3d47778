/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file issue.h
 * What the authority's key is used for, on the host that has it (`authority-key`).
 */
#ifndef AGENT_CLUSTER_ISSUE_H
#define AGENT_CLUSTER_ISSUE_H

#include <stdbool.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

struct agent;

#define ISSUE_WHY 512

/** Whether this host can sign; if not, why[] says so, and where `command` is to be run. */
bool issue_can(struct agent *agent, const char *command, char why[ISSUE_WHY]);
/** The key, to be freed; it is in memory only while it is used. NULL after a message in the log. */
EVP_PKEY *issue_key(struct agent *agent, X509 *authority);
/**
 * The certificate for a signing request of this host, as PEM, allocated. It lasts as long as that of the
 * host that signs, and begins after the host was revoked. NULL with the reason in *why.
 */
char *issue_certificate(struct agent *agent, const char *host, const char *request,
			const char **why);

#endif
