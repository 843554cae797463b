import type { SentMessage } from "./aws/aws_sink.ts";
import { findReceivers, toDeliveredEvent } from "./deliver.ts";
import type { LocalServices } from "./local_services.ts";

/** A sent message with its receivers and outcomes. */
export interface SentEntry extends SentMessage {
  /** Names of the functions that receive it. */
  readonly receivers: readonly string[];
  /** `done` or `failed` for each finished delivery. */
  readonly outcomes: string[];
}

/** Delivers the messages that functions send. */
export interface MessageBus {
  /** The last messages, newest first. */
  readonly sent: readonly SentEntry[];
  /** Accepts a message; it is delivered after the sender got its response. */
  take(message: SentMessage): void;
}

const MAX_SENT = 200;

/** Creates a message bus. */
export function createMessageBus(
  { options, project: { store, recorder }, invoker, pending }: LocalServices,
): MessageBus {
  const { functions: wiring } = options.config.infra;
  const sent: SentEntry[] = [];
  /** The last delivery by function: deliveries to a function run in order. */
  const lines = new Map<string, Promise<unknown>>();

  return {
    sent,
    take(message): void {
      const receivers = findReceivers(message, store.list(), wiring);
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
        pending.track(delivery);
      }
    },
  };
}
