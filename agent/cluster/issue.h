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

#define ISSUE_DAYS 3650 /**< of the certificate of a new host */
#define ISSUE_WHY 512

/** Whether this host can sign; if not, why[] says so, and where `command` is to be run. */
bool issue_can(struct agent *agent, const char *command, char why[ISSUE_WHY]);
/** The key, to be freed; it is in memory only while it is used. NULL after a message in the log. */
EVP_PKEY *issue_key(struct agent *agent, X509 *authority);
/**
 * The certificate for a signing request of this host, as PEM, allocated; it begins after the host was
 * revoked. NULL with the reason in *why.
 */
char *issue_certificate(struct agent *agent, const char *host, const char *request,
			unsigned int days, const char **why);

#endif
