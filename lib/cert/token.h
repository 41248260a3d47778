/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file token.h
 * An invitation, as text that is handed from one person to another:
 * "eh1-" and, in base64url (RFC 4648, without padding), the secret, the fingerprint of the authority,
 * "HOST ADDRESS", and the first four bytes of SHA-256 of all that, which show that none is missing.
 */
#ifndef CERT_TOKEN_H
#define CERT_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "cert/name.h"
#include "cert/read.h"

/** ALPN of a host that has no certificate yet: it sends a line of JSON, and gets one. */
#define TOKEN_ALPN "ehsched-join/1"
#define TOKEN_REQUEST_MAX 4096 /**< bytes of the line that it sends */
#define TOKEN_PREFIX "eh1-"
#define TOKEN_SECRET 16 /**< bytes */
#define TOKEN_ADDRESS_MAX 64 /**< bytes of the address */
#define TOKEN_TEXT 320 /**< bytes of the text, with its NUL */

struct cert_token {
	unsigned char secret[TOKEN_SECRET]; /**< random */
	unsigned char authority[CERT_DIGEST]; /**< cert_digest() of the authority's certificate */
	char host[CERT_HOST_MAX + 1]; /**< that has invited: the CN of its certificate */
	char address[TOKEN_ADDRESS_MAX]; /**< of that host: ADDRESS:PORT */
};

/** Returns `text`; NULL: no memory. */
char *cert_token_format(const struct cert_token *token, char text[TOKEN_TEXT]);
/** NULL, or what is wrong. */
const char *cert_token_parse(const char *text, struct cert_token *out);
/** What is kept of a secret: SHA-256. false: no memory. */
bool cert_token_digest(const unsigned char secret[TOKEN_SECRET], unsigned char digest[CERT_DIGEST]);
/** Bytes as lower case hexadecimal digits, into text[2 * n + 1]. Returns `text`. */
char *cert_hex(const unsigned char *bytes, size_t n, char *text);
/** The reverse. false: `text` is not exactly that of n bytes. */
bool cert_unhex(const char *text, unsigned char *bytes, size_t n);

#endif
