import type { SentMessage } from "./aws_sink.ts";
import { getReceivers, toDeliveredEvent, type Wiring } from "./deliver.ts";
import type { FunctionStore } from "./function_store.ts";
import type { Invoker } from "./invoker.ts";
import type { Recorder } from "./recorder.ts";

/** A sent message and what became of it. */
export interface SentEntry extends SentMessage {
  /** Names of the functions that get it. */
  readonly receivers: readonly string[];
  /** `done` or `failed`, for each receiver that has had it. */
  readonly outcomes: string[];
}

/** Options of {@link createMessageBus}. */
export interface MessageBusOptions {
  readonly store: FunctionStore;
  readonly invoker: Invoker;
  readonly recorder: Recorder;
  readonly wiring: Wiring;
  /** Waits for work before the server stops. */
  readonly track: (work: Promise<unknown>) => unknown;
}

/** Hands what functions send to the functions that it is for. */
export interface MessageBus {
  /** The last messages, the latest first. */
  readonly sent: readonly SentEntry[];
  /** Takes a message; it is delivered after its sender has had the answer. */
  take(message: SentMessage): void;
}

const MAX_SENT = 200;

/**
 * Makes the bus.
 *
 * @param options The functions, and who is told.
 */
export function createMessageBus(
  { store, invoker, recorder, wiring, track }: MessageBusOptions,
): MessageBus {
  const sent: SentEntry[] = [];
  /** The last delivery to each function: they come one after the other, as they were sent. */
  const lines = new Map<string, Promise<unknown>>();

  return {
    sent,
    take(message): void {
      const receivers = getReceivers(message, store.list(), wiring);
      const entry: SentEntry = {
        ...message,
        receivers: receivers.map(({ name }) => name),
        outcomes: [],
      };
      sent.unshift(entry);
      sent.length = Math.min(sent.length, MAX_SENT);
      recorder.emit({ type: "sent", sent: entry });
      for (const fn of receivers) {
        const before = lines.get(fn.name) ?? new Promise((resolve) => setTimeout(resolve));
        const delivery = before.then(async () => {
          const title = `${fn.name} ← ${message.detailType || message.target}`;
          const event = toDeliveredEvent(message, fn);
          const { failures, error } = await invoker.invoke(fn, event, {
            title,
            sentId: message.id,
          });
          entry.outcomes.push(error === undefined && failures.length === 0 ? "done" : "failed");
          recorder.emit({ type: "sent", sent: entry });
        });
        lines.set(fn.name, delivery);
        track(delivery);
      }
    },
  };
}
