/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_OFFLOAD_H
#define SN_OFFLOAD_H

/*
 * What devices do by flow rules before a worker sees a packet: rules changed as asked, watched, made again
 * after a device was reset. For the control thread.
 */

#include "flows.pb-c.h"
#include "sn_arena.h"
#include "sn_error.h"
#include "sn_flows.h"
#include "sn_port.h"
#include "sn_shards.h"
#include "sn_threads.h"

/* The functions that can fail return -1, with a message in err. */

struct sn_offload;

/* NULL on error, with a message in err. */
struct sn_offload *sn_offload_create(struct sn_ports ports, struct sn_threads *threads,
				     struct sn_shards *shards, struct sn_error *err);

/* Takes out all rules; the ports are still started. */
void sn_offload_stop(struct sn_offload *offload);

void sn_offload_free(struct sn_offload *offload);

/* The rules of a port; NULL if it is none of the engine's. */
struct sn_flows *sn_offload_flows(const struct sn_offload *offload, const struct sn_port *port);

/* A driver's refusals are told in the answer. An error: what is asked for cannot be, and nothing is done. */
int sn_offload_update(struct sn_offload *offload, const Sinter__Flows__V1__UpdateFlows *update,
		      struct sn_arena *arena, Sinter__Flows__V1__FlowsUpdated *updated, struct sn_error *err);

int sn_offload_list(struct sn_offload *offload, const Sinter__Flows__V1__GetFlows *request,
		    struct sn_arena *arena, Sinter__Flows__V1__FlowList *list, struct sn_error *err);

int sn_offload_devices(struct sn_offload *offload, const Sinter__Flows__V1__GetDevices *request,
		       struct sn_arena *arena, Sinter__Flows__V1__DeviceList *list, struct sn_error *err);

/*
 * Compares what workers saw with the rules, no longer believes marks of which one was wrong, resets devices
 * that ask for it. Returns the milliseconds until it should be called again, -1: it need not.
 */
int sn_offload_watch(struct sn_offload *offload);

#endif /* SN_OFFLOAD_H */
