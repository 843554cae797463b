import type { RestApiEvent } from "../../../../../../../core/http/lambda.ts";

// a handler without a wrapper, which returns its event
export const handler = (event: RestApiEvent) =>
  Promise.resolve({
    statusCode: 202,
    headers: { "Content-Type": "application/json" },
    multiValueHeaders: { "Set-Cookie": ["a=1; Path=/", "b=x=y"] },
    body: JSON.stringify(event),
    isBase64Encoded: false,
  });
