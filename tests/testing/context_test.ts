import { assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import { createFakeClock, createLambdaContext } from "../../testing/mod.ts";

Deno.test("createLambdaContext() has a deadline that comes nearer and stops at 0", async () => {
  const clock = createFakeClock();
  const context = createLambdaContext({ timeoutMs: 3000, clock });
  assertEquals(context.getRemainingTimeInMillis(), 3000);
  await clock.advance(1000);
  assertEquals(context.getRemainingTimeInMillis(), 2000);
  await clock.advance(9000);
  assertEquals(context.getRemainingTimeInMillis(), 0);
  assertEquals(createLambdaContext({ clock }).getRemainingTimeInMillis(), 30_000);
});

Deno.test("createLambdaContext() has Lambda's fields, with ids that may be given", () => {
  const context = createLambdaContext({ awsRequestId: "r-1", functionName: "notes" });
  assertEquals([context.awsRequestId, context.functionName, context.functionVersion], [
    "r-1",
    "notes",
    "$LATEST",
  ]);
  assertEquals([context.memoryLimitInMB, context.logGroupName], ["512", "/aws/lambda/notes"]);
  assertMatch(context.invokedFunctionArn, /^arn:aws:lambda:[a-z0-9-]+:\d{12}:function:notes$/);
  assertStringIncludes(context.logStreamName, "[$LATEST]");
  assertNotEquals(createLambdaContext().awsRequestId, createLambdaContext().awsRequestId);
});
