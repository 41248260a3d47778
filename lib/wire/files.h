/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file files.h
 * The protocol for home's files: requests of the executor (helpers/ehview),
 * answers and change notices of home (helpers/ehfiles). Each stream carries one
 * file system, from one directory on.
 *
 *   u32 length of the rest, after the header
 *   u32 op, in an answer with FILES_ANSWER
 *   u32 tag of the request, chosen by the executor
 *   i32 errno, 0 in a request
 *   the fields of the op in the order of enum files_field, little-endian; none in
 *   an answer with an error
 *
 * Requests are carried out in order. The executor assigns numbers to directories
 * (FILES_KNOW; the first is FILES_ROOT) and to open files. A request concerns the
 * open file HANDLE if that is not 0; else NAME in the directory DIR, provided that
 * it still has the inode number INO, or DIR itself if NAME is empty.
 */
#ifndef WIRE_FILES_H
#define WIRE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes; names and texts without their NUL. */
#define FILES_HEADER 16
#define FILES_NAME_MAX 255
#define FILES_TEXT_MAX 4095
#define FILES_DATA_MAX (128 << 10) /**< data of a read or write */
#define FILES_BODY_MAX (256 << 10)
#define FILES_HEAD_MAX 5120 /**< a message without its data */
#define FILES_ANSWER 0x100
#define FILES_ROOT 1

enum files_op {
	FILES_KNOW = 1, /**< directory OFFSET is NAME in DIR; not answered, like the next */
	FILES_FORGET, /**< directory DIR will not be used any more */
	FILES_LIST, /**< list DIR and watch it: FILES_WATCHED, FILES_COMPLETE, entries */
	FILES_LOOK, /**< NAME in DIR */
	FILES_STAT,
	FILES_SET, /**< set what FLAGS says (FILES_SET_MODE, …) */
	FILES_READLINK,
	FILES_OPEN, /**< as HANDLE2; with data if it is small, unless SIZE and TIMES (mtime, ctime)
		     *   match */
	FILES_CREATE, /**< NAME in DIR, as HANDLE2. MODE is files_mode(), also of the next that make files */
	FILES_READ,
	FILES_WRITE, /**< not answered: the next two report errors */
	FILES_FLUSH, /**< release the locks of OWNER. OWNER 0: no locks, and as after FILES_FSYNC
		      *   an error is no longer reported */
	FILES_FSYNC, /**< FLAGS 1: data only */
	FILES_CLOSE, /**< not answered */
	FILES_READDIR, /**< from OFFSET on */
	FILES_MKDIR,
	FILES_MKNOD, /**< SIZE is the device number */
	FILES_SYMLINK, /**< TEXT is the target */
	FILES_LINK, /**< TEXT in DIR2 becomes another link to it */
	FILES_UNLINK,
	FILES_RMDIR,
	FILES_RENAME, /**< to TEXT in DIR2; news follow if another file than INO has this name then */
	FILES_STATFS,
	FILES_ACCESS,
	FILES_GETXATTR, /**< named TEXT, like the others */
	FILES_SETXATTR,
	FILES_LISTXATTR,
	FILES_REMOVEXATTR,
	FILES_LOCK, /**< by OWNER: MODE is F_RDLCK, …; FLAGS 1: only test for a conflict */
	FILES_FLOCK, /**< MODE as for flock(), never waits */
	FILES_FALLOCATE,
	FILES_SYNC, /**< notices of all earlier changes precede the answer */
	FILES_NEWS, /**< from home: NAME in DIR has changed as FLAGS say; DIR 0: anything may have. INO on
		     *   device OFFSET: a file with several names that may have changed too; 0: none */
	FILES_OPS
};

enum files_field {
	FILES_F_HANDLE = 1 << 0,
	FILES_F_DIR = 1 << 1,
	FILES_F_INO = 1 << 2,
	FILES_F_HANDLE2 = 1 << 3,
	FILES_F_DIR2 = 1 << 4,
	FILES_F_OFFSET = 1 << 5,
	FILES_F_SIZE = 1 << 6,
	FILES_F_OWNER = 1 << 7,
	FILES_F_FLAGS = 1 << 8,
	FILES_F_MODE = 1 << 9,
	FILES_F_OWNERS = 1 << 10,
	FILES_F_TIMES = 1 << 11,
	FILES_F_ATTR = 1 << 12,
	FILES_F_NAME = 1 << 13,
	FILES_F_TEXT = 1 << 14,
	FILES_F_DATA = 1 << 15, /**< the rest */
};

/** FLAGS of answers. */
#define FILES_WATCHED 1 /**< changes in this directory are reported */
#define FILES_COMPLETE 2 /**< it has no other entries */
#define FILES_UNSURE 4 /**< changed so recently that its times may not show another change */
#define FILES_DATA 8 /**< its content follows */

/** FLAGS of FILES_NEWS. */
#define FILES_NEWS_NAME 1 /**< the name now is another file, no file, or a new file */
#define FILES_NEWS_ATTR 2 /**< the same file has changed */

/** FLAGS of FILES_SET. */
#define FILES_SET_MODE 1
#define FILES_SET_UID 2
#define FILES_SET_GID 4
#define FILES_SET_SIZE 8
#define FILES_SET_ATIME 16 /**< nsec may be UTIME_NOW; also below */
#define FILES_SET_MTIME 32

#define FILES_MODE_ASKED (1u << 31)

/** MODE of a new file: that under the umask and, above it, the permissions that were asked for, as the
 *  umask does not count in a directory with a default access list. An earlier version looks at the
 *  former only. */
static inline uint32_t files_mode(uint32_t mode, uint32_t umask)
{
	return (mode & ~umask) | (mode & 0777) << 16 | FILES_MODE_ASKED;
}

/** What was asked for; *umask: under which umask. */
static inline uint32_t files_mode_asked(uint32_t mode, uint32_t *umask)
{
	const uint32_t asked = mode >> 16 & 0777;

	if (!(mode & FILES_MODE_ASKED)) {
		*umask = 0;
		return mode & 0177777;
	}
	*umask = asked & ~mode;
	return (mode & 0177000) | asked;
}

struct files_time {
	int64_t sec;
	uint32_t nsec;
};

struct files_attr {
	uint64_t dev, ino;
	uint64_t size; /**< bytes */
	uint64_t blocks; /**< of 512 bytes */
	uint64_t rdev;
	uint32_t mode, nlink, uid, gid, blksize;
	struct files_time atime, mtime, ctime;
};
#define FILES_ATTR_SIZE (5 * 8 + 5 * 4 + 3 * 12) /**< bytes on the wire */

/** All fields of a message; its op says which are used. */
struct files_message {
	uint32_t op, tag;
	int32_t error; /**< 0 or a positive errno */
	uint32_t handle, handle2, flags, mode, uid, gid;
	uint64_t dir, dir2, ino, offset, size, owner;
	struct files_time times[2];
	struct files_attr attr;
	char name[FILES_NAME_MAX + 1]; /**< one component, or empty */
	char text[FILES_TEXT_MAX + 1];
	const uint8_t *data;
	size_t length; /**< bytes of data */
};

/** Encodes header and fields; the data must follow. Returns the bytes without it. */
size_t files_encode(uint8_t out[FILES_HEAD_MAX], const struct files_message *m);
/** Returns the bytes of the message that begins here, with its header; 0 if `length` bytes do not
 *  tell yet; or -EPROTO: longer than FILES_BODY_MAX. */
long files_length(const uint8_t *in, size_t length);
/** Decodes one whole message; its data is not copied. Attributes and times that it does not have
 *  are left as they were, other fields are zero or empty. Returns 0 or -EPROTO. */
int files_decode(struct files_message *m, const uint8_t *in, size_t length);

/** An entry of the data of FILES_LIST (all of `attr`) or of FILES_READDIR (ino, type in mode, offset
 *  of the next in size). */
struct files_entry {
	struct files_attr attr;
	char name[FILES_NAME_MAX + 1];
};
#define FILES_ENTRY_MAX (FILES_ATTR_SIZE + 2 + FILES_NAME_MAX)

/** Returns the bytes written. */
size_t files_entry_encode(uint8_t out[FILES_ENTRY_MAX], const struct files_attr *attr,
			  const char *name);
/** Decodes the entry at *at and advances *at. False: no more entries, or a malformed one. */
bool files_entry_decode(struct files_entry *e, const uint8_t **at, const uint8_t *end);

#endif
