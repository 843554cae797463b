import type { StandardSchema } from "../../env/standard_schema.ts";
import type { Flat } from "../flat.ts";
import type { LambdaContext } from "../http/lambda.ts";
import type { WrapperMetadata } from "../with_observability.ts";
import { wrapTrigger } from "./observe_trigger.ts";
import { parseInput, parseJsonInput } from "./parse_input.ts";
import { listCorrelationIdsOfSingle, runRecords } from "./record_scope.ts";
import { identifySnsRecord, readSnsRecords } from "./read_records.ts";
import type { SnsEvent, SnsRecord } from "./trigger_events.ts";
import {
  ASYNC_KEYS,
  type AsyncTriggerOptions,
  checkTriggerOptions,
  type TriggerHandler,
} from "./trigger_options.ts";

const FOREIGN_EVENT =
  "The event holds no messages of SNS: the trigger of this function must be a topic";

/** Options of {@link defineTopicHandler}. Without a type argument (`never`) its parameter is omitted. */
export interface TopicHandlerOptions<TMessage = never> extends AsyncTriggerOptions {
  /** Parses the JSON of each message; synchronous or not. */
  schema?: StandardSchema<TMessage>;
}

/** Parameters of a message handler. */
export type TopicHandlerParams<TMessage = never> = Flat<
  & {
    /** The message as SNS delivers it. */
    record: SnsRecord;
    /** Lambda's context. */
    context: LambdaContext;
    /** Ids; the correlation id is the message's own. */
    metadata: WrapperMetadata;
  }
  & ([TMessage] extends [never] ? unknown : { /** The parsed message. */ message: TMessage })
>;

/** The function that a user writes: called once for each message. What it returns is not used. */
export type TopicHandlerFunction<TMessage = never> = (
  params: TopicHandlerParams<TMessage>,
) => unknown;

/**
 * Declares a subscriber of an SNS topic. A failure, also of a message that does not fit the schema, fails the invocation
 * after all its records were tried: Lambda then invokes it again (`retryAttempts`) and hands it to the dead-letter queue.
 *
 * @param options Schema, names, destination and retries of failed events.
 * @returns A function that takes the handler and returns the one to export for Lambda.
 * @throws {ConfigurationError} When an option is unknown or out of range; the message names option and value.
 *
 * @example
 * ```ts
 * import { defineTopicHandler } from "@trellis/fn/triggers";
 * import { createLambdaContext, createTopicEvent } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * export const handler = defineTopicHandler({
 *   schema: z.object({ noteId: z.string() }),
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(function announceNote({ message, metadata }) {
 *   console.log(message.noteId, metadata.correlationId); // n1 c-1
 * });
 *
 * await handler(createTopicEvent([{ message: { noteId: "n1" }, correlationId: "c-1" }]), createLambdaContext());
 * ```
 */
export function defineTopicHandler<TMessage = never>(
  options: TopicHandlerOptions<TMessage> = {},
): (
  handler: TopicHandlerFunction<TMessage>,
) => TriggerHandler<SnsEvent, void, TopicHandlerFunction<TMessage>> {
  checkTriggerOptions("defineTopicHandler", options, ["schema", ...ASYNC_KEYS]);
  const { schema } = options;

  return function wrapHandler(handler) {
    return wrapTrigger("defineTopicHandler", options, handler, {
      listCorrelationIds: (event: SnsEvent) =>
        listCorrelationIdsOfSingle(event?.Records, identifySnsRecord),
      work: (event, context, metadata) =>
        runRecords(
          readSnsRecords(event, FOREIGN_EVENT),
          metadata,
          identifySnsRecord,
          async (record, own) => {
            const parsed = schema &&
              { message: await parseInput(schema, parseJsonInput(record.Sns.Message)) };
            const params = { record, context, metadata: own, ...parsed };
            await handler(params as TopicHandlerParams<TMessage>);
          },
        ),
    });
  };
}
