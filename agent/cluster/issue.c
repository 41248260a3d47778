// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/issue.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <openssl/crypto.h>
#include <openssl/err.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "cert/make.h"
#include "cert/name.h"
#include "cert/read.h"
#include "cert/revoke.h"
#include "net/tls.h"

#define ISSUE_HOUR 3600 /* cert_node_new() begins this long before */
#define ISSUE_DAY 86400

/* Read each time: few ask, and the key is in memory only while it is used. */
EVP_PKEY *issue_key(struct agent *agent, X509 *authority)
{
	EVP_PKEY *key = NULL;
	char text[CERT_PEM_MAX];
	ssize_t n = -1;
	int fd;

	fd = open(agent->config->authority_key, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text));
		close(fd);
	}
	if (n > 0)
		key = cert_key_from_pem(text, n);
	OPENSSL_cleanse(text, sizeof(text));
	if (key && X509_check_private_key(authority, key) == 1)
		return key;
	ERR_clear_error();
	EVP_PKEY_free(key);
	log_error("%s: not the key of the authority that signed this host's certificate",
		  agent->config->authority_key);
	return NULL;
}

bool issue_can(struct agent *agent, const char *command, char why[ISSUE_WHY])
{
	char origin[CERT_HOST_MAX + 1];
	X509 *authority;
	EVP_PKEY *key;

	tls_own(agent->tls, &authority);
	snprintf(why, ISSUE_WHY, "the authority's certificate did not sign this host's");
	if (!authority)
		return false;
	if (!*agent->config->authority_key) {
		if (!cert_origin(authority, origin, sizeof(origin)) ||
		    !strcmp(origin, agent->config->host))
			strcpy(origin, "the host that has the authority's key");
		snprintf(why, ISSUE_WHY,
			 "this host does not have the authority's key (`authority-key`): "
			 "run `%s` on %s",
			 command, origin);
		return false;
	}
	key = issue_key(agent, authority);
	EVP_PKEY_free(key);
	snprintf(why, ISSUE_WHY, "`authority-key` is not the key of the cluster's authority");
	return key;
}

/* The site has chosen that with its first certificate. */
static unsigned int issue_days(struct agent *agent)
{
	int64_t from = 0, until = 0, days;
	char cn[256];

	tls_own_validity(agent->tls, &from, &until, cn, sizeof(cn));
	/* Certificates begin an hour before they are made. */
	days = (until - from - ISSUE_HOUR) / ISSUE_DAY;
	return days < 1 ? 1 : days;
}

char *issue_certificate(struct agent *agent, const char *host, const char *text, const char **why)
{
	int64_t now = clock_wall_ms() / 1000, at = revoke_of_host(agent->revoke_list, host);
	X509_REQ *request = cert_request_from_pem(text, strlen(text));
	EVP_PKEY *theirs = NULL, *key = NULL;
	X509 *authority, *cert = NULL;
	char *pem = NULL;

	*why = "the signing request is malformed";
	if (!request)
		goto free_all;
	theirs = cert_request_key(request, host, why);
	if (!theirs)
		goto free_all;
	*why = "the authority's key cannot be used: see the agent's log on the host that has it";
	tls_own(agent->tls, &authority);
	key = authority ? issue_key(agent, authority) : NULL;
	if (now - ISSUE_HOUR <= at)
		now = at + ISSUE_HOUR + 1;
	if (key)
		cert = cert_node_new(theirs, host, authority, key, now, issue_days(agent));
	if (cert)
		pem = cert_to_pem(cert);
free_all:
	ERR_clear_error();
	X509_free(cert);
	EVP_PKEY_free(key);
	EVP_PKEY_free(theirs);
	X509_REQ_free(request);
	return pem;
}
