/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file name.h
 * Names in certificates: of a host (the CN, and a DNS name), and of a cluster (in a URI).
 */
#ifndef CERT_NAME_H
#define CERT_NAME_H

#include <stdbool.h>

#define CERT_HOST_MAX 64 /**< bytes of a host name, the limit of a CN (X.520) */
#define CERT_CLUSTER_MAX 64 /**< bytes of a cluster's name in a certificate */
#define CERT_URN "urn:ehsched:" /**< before the cluster's name, as subjectAltName */

/** Letters, digits, dots and hyphens; begins with a letter or digit. */
bool cert_is_host(const char *text);
/** The same, and underscores. A configured name may have others: then no certificate has it. */
bool cert_is_cluster(const char *text);

#endif
