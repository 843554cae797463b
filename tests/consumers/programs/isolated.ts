// A library on top of the package: everything that it exports has a type that can be written down.
import {
  buildValidatedResponse,
  type LambdaContext,
  type ProxyResult,
  type RestApiEvent,
} from "@trellis/fn";
import { type ApiHandler, defineApiHandler, type ValidatedApiParams } from "@trellis/fn/validation";
import { AppError, type AppErrorOptions } from "@trellis/fn/errors";
import {
  createQueryFactory,
  type DatabaseConfig,
  type DrizzleClient,
  getDrizzleClient,
  type QueryFactory,
} from "@trellis/fn/database";
import { withObservability } from "@trellis/fn/core";
import * as z from "zod";

interface Item {
  name: string;
}

export function answer({ body, context }: ValidatedApiParams<Item>): ProxyResult {
  return buildValidatedResponse(context, 200, { name: body.name });
}
export const handler: ApiHandler<ValidatedApiParams<Item>> = defineApiHandler({
  schema: z.object({ name: z.string() }),
})(answer);
export const config: DatabaseConfig = { provider: "embedded-pg", connectionString: "memory://" };
export const getDb: () => Promise<DrizzleClient> = () => getDrizzleClient(config);
export const queries: QueryFactory<Record<string, unknown>> = createQueryFactory(getDb);
export const wrapped: (event: RestApiEvent, context: LambdaContext) => Promise<string> =
  withObservability(
    (event: RestApiEvent) => Promise.resolve(event.path),
  );
export class OutOfTea extends AppError {
  constructor(options?: AppErrorOptions) {
    super("SERVICE_UNAVAILABLE", "Out of tea", options);
  }
}
