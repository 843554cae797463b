import type { LambdaContext } from "../core/http/lambda.ts";
import { listEventCorrelationIds } from "../core/triggers/correlation.ts";
import { addLogFields, wrapTrigger } from "../core/triggers/observe_trigger.ts";
import { parseJsonInput } from "../core/triggers/parse_input.ts";
import { listCorrelationIdsOfSingle, runRecords } from "../core/triggers/record_scope.ts";
import { identifySnsRecord, readSnsRecords } from "../core/triggers/read_records.ts";
import type { EventBridgeEvent, SnsEvent } from "../core/triggers/trigger_events.ts";
import {
  ASYNC_KEYS,
  type AsyncTriggerOptions,
  checkTriggerOptions,
  type TriggerHandler,
} from "../core/triggers/trigger_options.ts";
import type { WrapperMetadata } from "../core/with_observability.ts";
import { type MailEvent, parseMailEvent } from "./mail_event.ts";

const FOREIGN_EVENT =
  "The event comes neither from SNS nor from EventBridge: the trigger must be a topic or a rule";

/** What the handler of a mail event gets. */
export interface MailEventParams {
  /** The event. */
  event: MailEvent;
  /** Lambda's context. */
  context: LambdaContext;
  /** Ids of this invocation. */
  metadata: WrapperMetadata;
}

/** The function that a user writes: called once for each event. */
export type MailEventHandlerFunction = (params: MailEventParams) => unknown;

/**
 * Declares the handler of bounces, complaints and other events of Amazon SES. Its trigger is a topic of SNS (`topic/`) or a rule of
 * EventBridge (`event/`); both formats of SES are read: events of a configuration set and notifications of an identity.
 *
 * @param options Names, what happens to failed events.
 * @returns A function that takes the handler and returns the one to export for Lambda.
 * @throws {ConfigurationError} If an option is unknown or out of range.
 *
 * @example
 * ```ts
 * import { defineMailEventHandler } from "@trellis/fn/mail";
 * import { createLambdaContext, createTopicEvent } from "@trellis/fn/testing";
 *
 * const handler = defineMailEventHandler({ logging: { level: "SILENT" }, metrics: false })(
 *   function onMailEvent({ event }) {
 *     if (event.type === "bounce" && event.isPermanent) console.log(event.recipients[0].address);
 *   },
 * );
 *
 * const bounce = {
 *   eventType: "Bounce",
 *   mail: { messageId: "m1" },
 *   bounce: { bounceType: "Permanent", bouncedRecipients: [{ emailAddress: "gone@example.com" }] },
 * };
 * await handler(createTopicEvent([{ message: bounce }]), createLambdaContext()); // gone@example.com
 * ```
 */
export function defineMailEventHandler(
  options: AsyncTriggerOptions = {},
): (
  handler: MailEventHandlerFunction,
) => TriggerHandler<SnsEvent | EventBridgeEvent, void, MailEventHandlerFunction> {
  checkTriggerOptions("defineMailEventHandler", options, ASYNC_KEYS);

  return function wrapHandler(handler) {
    return wrapTrigger("defineMailEventHandler", options, handler, {
      listCorrelationIds: listIds,
      async work(event, context, metadata): Promise<void> {
        if (isEventBridge(event)) {
          addLogFields({ event_id: event.id, detail_type: event["detail-type"] });
          await handler({ event: parseMailEvent(event.detail), context, metadata });
          return;
        }
        await runRecords(
          readSnsRecords(event, FOREIGN_EVENT),
          metadata,
          identifySnsRecord,
          ({ Sns }, own) =>
            handler({
              event: parseMailEvent(parseJsonInput(Sns.Message)),
              context,
              metadata: own,
            }),
        );
      },
    });
  };
}

function isEventBridge(event: SnsEvent | EventBridgeEvent): event is EventBridgeEvent {
  return typeof (event as EventBridgeEvent | null)?.["detail-type"] === "string";
}

function listIds(event: SnsEvent | EventBridgeEvent): readonly unknown[] {
  return isEventBridge(event)
    ? listEventCorrelationIds(event)
    : listCorrelationIdsOfSingle(event?.Records, identifySnsRecord);
}
