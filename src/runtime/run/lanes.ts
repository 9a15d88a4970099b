/**
 * Lanes: the runs of one session go one at a time and in order, those of different sessions side by side.
 *
 * A lane drives at most one run; a parked run that can continue comes before runs that have not started. At most `workers`
 * runs are driven, and ready lanes take turns. A run is in its lane once, however often it is put there. A run started by
 * `startNow` counts for neither its lane nor the workers, so it must have nothing to do but end.
 */
export interface Lanes<Id> {
  /** `first`: before everything that waits there. */
  put(lane: string, id: Id, where: "first" | "last"): void;
  /** False when it does not wait. */
  remove(lane: string, id: Id): boolean;
  /** False when it does not wait, or the lanes are closed. */
  startNow(lane: string, id: Id): boolean;
  /** Nothing more is started. */
  close(): void;
  readonly waiting: number;
}

interface Lane<Id> {
  readonly queue: Id[];
  isBusy: boolean;
}

/** `begin` settles when the run has ended or parked. */
export function openLanes<Id>(workers: () => number, begin: (id: Id) => Promise<void>): Lanes<Id> {
  const lanes = new Map<string, Lane<Id>>();
  /** Lanes that have a waiting run and are not busy, in the order in which they became so. */
  const ready = new Set<string>();
  let working = 0;
  let waiting = 0;
  let isOpen = true;

  const laneNamed = (name: string): Lane<Id> => {
    const lane = lanes.get(name) ?? { queue: [], isBusy: false };
    lanes.set(name, lane);
    return lane;
  };

  const beginNext = (name: string): void => {
    const lane = laneNamed(name);
    const id = lane.queue.shift();
    if (id === undefined) return;
    waiting -= 1;
    working += 1;
    lane.isBusy = true;
    begin(id).finally(() => {
      working -= 1;
      lane.isBusy = false;
      if (lane.queue.length > 0) ready.add(name);
      else lanes.delete(name);
      pump();
    });
  };

  const pump = (): void => {
    for (const name of ready) {
      if (!isOpen || working >= workers()) return;
      ready.delete(name);
      beginNext(name);
    }
  };

  const remove = (name: string, id: Id): boolean => {
    const lane = lanes.get(name);
    const index = lane?.queue.indexOf(id) ?? -1;
    if (lane === undefined || index === -1) return false;
    lane.queue.splice(index, 1);
    waiting -= 1;
    if (lane.queue.length === 0 && !lane.isBusy) {
      ready.delete(name);
      lanes.delete(name);
    }
    return true;
  };

  return {
    put: (name, id, where) => {
      const lane = laneNamed(name);
      if (lane.queue.includes(id)) return;
      if (where === "first") lane.queue.unshift(id);
      else lane.queue.push(id);
      waiting += 1;
      if (!lane.isBusy) ready.add(name);
      pump();
    },
    remove,
    startNow: (name, id) => {
      if (!isOpen || !remove(name, id)) return false;
      begin(id);
      return true;
    },
    close: () => {
      isOpen = false;
    },
    get waiting() {
      return waiting;
    },
  };
}
