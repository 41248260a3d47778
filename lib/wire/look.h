/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file look.h
 * What an agent asks ehlook, and its answers: packets of a fixed size on a SOCK_SEQPACKET socket. Each
 * LOOK_AT has one answer, and each LOOK_DIGEST, which is about the program of the last LOOK_AT. Both
 * programs are of one build. No I/O.
 */
#ifndef WIRE_LOOK_H
#define WIRE_LOOK_H

#include <stdint.h>

#define LOOK_VERSION 1u
#define LOOK_SOCKET 3 /**< of ehlook to its agent */
#define LOOK_PATH 4096 /**< bytes, with the NUL */

enum look_what {
	LOOK_AT, /**< find program and directory */
	LOOK_DIGEST, /**< read the program */
	LOOK_DROP, /**< close it; there is no answer */
};

/** Paths are looked up with the rights of the user. */
struct look_request {
	uint32_t version, what;
	uint32_t uid;
	/** The user's process whose groups and directory count; 0: those of the user, and `folder` */
	int32_t pid;
	uint64_t limit; /**< no digest of a larger program: bytes */
	char folder[LOOK_PATH]; /**< absolute */
	char path[LOOK_PATH]; /**< of the program; relative to the directory */
};

struct look_folder {
	uint64_t dev, ino;
	int64_t mtime_ns, ctime_ns; /**< for agents of before; says nothing of being the same */
	uint32_t mode, uid, gid;
	uint32_t shared; /**< its file system is of a kind that several hosts mount */
};

/** It is a regular file. Changes whenever its content does. */
struct look_program {
	uint64_t dev, ino, size;
	int64_t mtime_ns, ctime_ns;
};

struct look_answer {
	int32_t folder_error, program_error, digest_error; /**< errno; 0: what follows is valid */
	uint32_t zero;
	struct look_folder folder;
	char folder_path[LOOK_PATH]; /**< for people */
	struct look_program program;
	uint64_t digest[2]; /**< XXH3 of 128 bits: high, low */
	char real[LOOK_PATH]; /**< of the program, without links; "": it is not known */
};

#endif
