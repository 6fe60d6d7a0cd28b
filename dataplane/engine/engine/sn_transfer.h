/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TRANSFER_H
#define SN_TRANSFER_H

/*
 * Units of shards between engines, for the control thread. The giver's stand still while their sessions are
 * read, in chunks and as often as one likes; the taker puts them where they belong and does not look at them
 * yet. Then the taker commits, then the giver: what the taker did is what is true. docs/sharding.md has the
 * whole of it, and who has the units when somebody dies.
 *
 * Functions that can fail return -1 with a message in err. Each may be called again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sn_carry.h"
#include "sn_error.h"
#include "sn_peering.h"
#include "sn_shards.h"
#include "sn_threads.h"

#define SN_TRANSFER_ID	  16
#define SN_TRANSFERS_MAX  8		/* at a time */
#define SN_TRANSFER_LEASE 2000000000ull /* ns without a step after which one that is not sealed ends */

struct sn_transfer {
	bool open;
	bool take;   /* else give */
	bool sealed; /* a give whose end the taker decides */
	uint8_t id[SN_TRANSFER_ID];
	char peer[SN_PEER_NAME];
	bool shards[SN_SHARDS];
	uint64_t began_ns;
	uint64_t still_ns; /* of a give: nothing was used after it */
	uint64_t step_ns;  /* the last step */
	uint64_t sequence; /* of the next chunk */
	uint64_t count;	   /* of sessions that came */
};

/* The layout that two engines must have in common. */
struct sn_transfer_layout {
	uint8_t program[SN_HASH_LEN];
	size_t program_len;
	char partitioning[32];
	uint32_t units;
	uint8_t key[8]; /* none that tells it */
};

/* The transfers of an engine, and what they work on. */
struct sn_transfers;

struct sn_transfers_config {
	struct sn_threads *threads;
	struct sn_state *state;
	struct sn_shards *shards;
	struct sn_peering *peering;
};

/* NULL without memory. */
struct sn_transfers *sn_transfers_create(const struct sn_transfers_config *config);
void sn_transfers_free(struct sn_transfers *transfers);

/* The transfer that a shard is on; NULL: none. */
const struct sn_transfer *sn_transfer_of(const struct sn_transfers *transfers, uint32_t shard);

/* Whether one is open: then sn_transfers_tick() is to be called now and then, which ends what nobody cares
 * for any more. */
bool sn_transfers_open(const struct sn_transfers *transfers);
void sn_transfers_tick(struct sn_transfers *transfers);

/* Before the state changes: ends all that are not sealed. */
void sn_transfers_end(struct sn_transfers *transfers);

/* When it has changed, while the workers are held: there may be fewer units. A transfer of which none is left
 * is over, whichever end of it is asked for then. */
void sn_transfers_fit(struct sn_transfers *transfers);

void sn_transfer_layout(const struct sn_transfers *transfers, struct sn_transfer_layout *layout);

/* Sessions of a unit. */
int sn_transfer_count(const struct sn_transfers *transfers, uint32_t unit, uint32_t *n, struct sn_error *err);

/* The subject of a transfer. */
struct sn_transfer_order {
	const uint8_t *id; /* SN_TRANSFER_ID bytes */
	const uint32_t *units;
	size_t n_units;
	const char *peer;
	const uint32_t *counts; /* of a take: its sessions by unit, for which memory is had; or NULL */
};

int sn_give_begin(struct sn_transfers *transfers, const struct sn_transfer_order *order,
		  struct sn_error *err);
/* At most max sessions of SN_CARRY_BYTES from *cursor on, see sn_carry_read(). */
int sn_give_read(struct sn_transfers *transfers, const uint8_t *id, uint64_t *cursor, uint8_t *out,
		 size_t max, size_t *n, struct sn_error *err);
int sn_give_seal(struct sn_transfers *transfers, const uint8_t *id, struct sn_error *err);
/* blocked_ns: since the beginning; 0 if it was over already. */
int sn_give_commit(struct sn_transfers *transfers, const uint8_t *id, uint64_t *blocked_ns,
		   struct sn_error *err);
int sn_give_abort(struct sn_transfers *transfers, const uint8_t *id, uint64_t *blocked_ns,
		  struct sn_error *err);

/* Where a take is. */
struct sn_taken {
	uint64_t sequence; /* of the chunk that is wanted next */
	uint64_t count;
	bool committed;
	uint64_t blocked_ns; /* from the beginning to the commit; 0 if it was over already */
};

int sn_take_begin(struct sn_transfers *transfers, const struct sn_transfer_order *order,
		  const struct sn_transfer_layout *layout, struct sn_taken *taken, struct sn_error *err);
/* A chunk that is wrong ends the transfer. */
int sn_take_put(struct sn_transfers *transfers, const uint8_t *id, uint64_t sequence, const uint8_t *data,
		size_t len, struct sn_taken *taken, struct sn_error *err);
int sn_take_commit(struct sn_transfers *transfers, const uint8_t *id, uint64_t count, struct sn_taken *taken,
		   struct sn_error *err);
void sn_take_abort(struct sn_transfers *transfers, const uint8_t *id, struct sn_taken *taken);

#endif /* SN_TRANSFER_H */
