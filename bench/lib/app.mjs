// The application of the adapters in bench/peers. The harness puts its own file of this name in this place.
export const health = () => ({ status: "ok", service: "orders", version: "1.0.0" });

export const accept = (order) => ({
  id: order.orderId,
  status: "accepted",
  email: order.customerEmail,
  total: order.amount * order.quantity,
  currency: order.currency,
  tags: order.tags.length,
});

export const LOG_MESSAGE = "order accepted";
export const SPAN_NAME = "POST /orders";
export const METRICS = [["OrdersAccepted", "Count"], ["OrderValue", "None"], [
  "Latency",
  "Milliseconds",
]];
