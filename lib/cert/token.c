// SPDX-License-Identifier: GPL-2.0-or-later
#include "cert/token.h"

#include <stdio.h>
#include <string.h>
#include <openssl/evp.h>

#define TOKEN_SUM 4
#define TOKEN_FIXED (TOKEN_SECRET + CERT_DIGEST)
#define TOKEN_BYTES (TOKEN_FIXED + CERT_HOST_MAX + TOKEN_ADDRESS_MAX + TOKEN_SUM)

static bool token_sha256(const void *data, size_t length, unsigned char digest[CERT_DIGEST])
{
	unsigned int n;

	return EVP_Digest(data, length, digest, &n, EVP_sha256(), NULL) == 1 && n == CERT_DIGEST;
}

bool cert_token_digest(const unsigned char secret[TOKEN_SECRET], unsigned char digest[CERT_DIGEST])
{
	return token_sha256(secret, TOKEN_SECRET, digest);
}

char *cert_token_format(const struct cert_token *token, char text[TOKEN_TEXT])
{
	unsigned char bytes[TOKEN_BYTES + 2], digest[CERT_DIGEST];
	char coded[(TOKEN_BYTES + 2) / 3 * 4 + 8];
	size_t n = TOKEN_FIXED;

	memcpy(bytes, token->secret, TOKEN_SECRET);
	memcpy(bytes + TOKEN_SECRET, token->authority, CERT_DIGEST);
	n += snprintf((char *)bytes + n, sizeof(bytes) - n, "%s %s", token->host, token->address);
	if (n + TOKEN_SUM > sizeof(bytes) || !token_sha256(bytes, n, digest))
		return NULL;
	memcpy(bytes + n, digest, TOKEN_SUM);
	EVP_EncodeBlock((unsigned char *)coded, bytes, (int)(n + TOKEN_SUM));
	for (char *c = coded; *c; c++) {
		if (*c == '=')
			*c-- = '\0';
		else
			*c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
	}
	snprintf(text, TOKEN_TEXT, TOKEN_PREFIX "%s", coded);
	return text;
}

/* Number of bytes, or -1. */
static int token_decode(const char *text, unsigned char *bytes, size_t size)
{
	unsigned char coded[TOKEN_TEXT + 4];
	size_t n = strlen(text), padding = (4 - n % 4) % 4;
	int length;

	if (padding == 3 || n + padding >= sizeof(coded) || (n + padding) / 4 * 3 > size)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '+' || text[i] == '/' || text[i] == '=')
			return -1;
		coded[i] = text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i];
	}
	memset(coded + n, '=', padding);
	length = EVP_DecodeBlock(bytes, coded, (int)(n + padding));
	return length < 0 ? -1 : length - (int)padding;
}

const char *cert_token_parse(const char *text, struct cert_token *out)
{
	unsigned char bytes[TOKEN_TEXT + 4], digest[CERT_DIGEST];
	const size_t before = strlen(TOKEN_PREFIX);
	char *place = (char *)bytes + TOKEN_FIXED, *space;
	int n;

	memset(out, 0, sizeof(*out));
	if (strncmp(text, TOKEN_PREFIX, before) != 0)
		return "it does not begin with " TOKEN_PREFIX;
	n = token_decode(text + before, bytes, sizeof(bytes) - 1);
	if (n < TOKEN_FIXED + TOKEN_SUM || !token_sha256(bytes, n - TOKEN_SUM, digest) ||
	    memcmp(bytes + n - TOKEN_SUM, digest, TOKEN_SUM) != 0)
		return "it is damaged: copy all of it";
	bytes[n - TOKEN_SUM] = '\0';
	space = strchr(place, ' ');
	if (!space || strlen(place) != (size_t)n - TOKEN_SUM - TOKEN_FIXED)
		return "it is malformed";
	*space++ = '\0';
	if (!cert_is_host(place) || !*space || strlen(space) >= sizeof(out->address))
		return "it is malformed";
	memcpy(out->secret, bytes, TOKEN_SECRET);
	memcpy(out->authority, bytes + TOKEN_SECRET, CERT_DIGEST);
	strcpy(out->host, place);
	strcpy(out->address, space);
	return NULL;
}

char *cert_hex(const unsigned char *bytes, size_t n, char *text)
{
	for (size_t i = 0; i < n; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	return text;
}

static int token_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool cert_unhex(const char *text, unsigned char *bytes, size_t n)
{
	if (strlen(text) != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		int high = token_digit(text[2 * i]), low = token_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes[i] = high << 4 | low;
	}
	return true;
}
