import {
  applyUpdate,
  evaluateCondition,
  type ExpressionInput,
  type Item,
} from "./dynamodb_expressions.ts";

/** Server with one DynamoDB table, whose partition key is the text attribute `id`. */
export interface DynamoDbServer {
  /** For `AWS_ENDPOINT_URL_DYNAMODB`. */
  readonly url: string;
  /** The items by key. */
  readonly items: Map<string, Item>;
  /** Operations so far, in order. */
  readonly calls: string[];
  /** Set to fail the next call of an operation after it was applied, as if its answer was lost. */
  loseAnswerOf: string | undefined;
  stop(): Promise<void>;
}

interface Call extends ExpressionInput {
  TableName: string;
  Key?: Item;
  Item?: Item;
  ConditionExpression?: string;
  UpdateExpression?: string;
  ReturnValuesOnConditionCheckFailure?: string;
}

const ITEM_LIMIT_BYTES = 400 * 1024;

/** Starts a server that speaks the protocol of DynamoDB (AWS JSON 1.0) for the four operations on single items. */
export function startDynamoDbServer(tableName: string): DynamoDbServer {
  const items = new Map<string, Item>();
  const calls: string[] = [];
  const http = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const operation = request.headers.get("X-Amz-Target")!.split(".")[1];
    const call = await request.json() as Call;
    calls.push(operation);
    if (call.TableName !== tableName) return fail("ResourceNotFoundException");
    const answer = apply(operation, call);
    if (server.loseAnswerOf !== operation) return answer;
    server.loseAnswerOf = undefined;
    return new Response("{}", { status: 500, headers: { "Content-Type": CONTENT_TYPE } });
  });

  function apply(operation: string, call: Call): Response {
    const id = (call.Key ?? call.Item)!.id.S as string;
    const item = items.get(id);
    const { ConditionExpression: condition } = call;
    if (condition !== undefined && !evaluateCondition(condition, item, call)) {
      const shown = call.ReturnValuesOnConditionCheckFailure === "ALL_OLD" ? item : undefined;
      return fail("ConditionalCheckFailedException", { Item: shown });
    }
    if (operation === "GetItem") return answer({ Item: item });
    if (operation === "DeleteItem") items.delete(id);
    else {
      const changed = operation === "PutItem"
        ? call.Item!
        : applyUpdate(call.UpdateExpression!, item ?? call.Key!, call);
      if (JSON.stringify(changed).length > ITEM_LIMIT_BYTES) return fail("ValidationException");
      items.set(id, changed);
    }
    return answer({});
  }

  const server: DynamoDbServer = {
    url: `http://127.0.0.1:${http.addr.port}`,
    items,
    calls,
    loseAnswerOf: undefined,
    stop: () => http.shutdown(),
  };
  return server;
}

const CONTENT_TYPE = "application/x-amz-json-1.0";

function answer(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "Content-Type": CONTENT_TYPE },
  });
}

function fail(type: string, more: object = {}): Response {
  const __type = `com.amazonaws.dynamodb.v20120810#${type}`;
  return answer({ __type, message: type, ...more }, 400);
}
