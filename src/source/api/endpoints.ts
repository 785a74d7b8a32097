import {
  invoiceFilters,
  noFilters,
  period,
  searchFilters,
  ticketFilters,
  transactionFilters,
} from './query-filters.ts';
import { batchBody, createBodies, customerChanges } from './request-bodies.ts';
import * as rows from './response-rows.ts';

/** Every endpoint of the API's document: its path, its rows, its filters and its body. */
export const endpoints = {
  customers: {
    path: '/api/v2/customers',
    row: rows.customerRow,
    filters: searchFilters,
    body: createBodies.customers,
    changes: customerChanges,
  },
  invoices: { path: '/api/v2/invoices', row: rows.invoiceRow, filters: invoiceFilters, body: createBodies.invoices },
  transactions: {
    path: '/api/v2/transactions',
    row: rows.transactionRow,
    filters: transactionFilters,
    body: createBodies.transactions,
  },
  products: { path: '/api/v2/products', row: rows.productRow, filters: noFilters, body: createBodies.products },
  quotes: { path: '/api/v2/quotes', row: rows.quoteRow, filters: noFilters, body: createBodies.quotes },
  tickets: { path: '/api/v2/tickets', row: rows.ticketRow, filters: ticketFilters, body: createBodies.tickets },
  leads: { path: '/api/v2/leads', body: createBodies.leads },
  users: { path: '/api/v2/users', row: rows.userRow, filters: noFilters, body: createBodies.users },
  orders: { path: '/api/v2/orders', row: rows.opaqueRow, filters: noFilters },
  suppliers: { path: '/api/v2/suppliers', row: rows.opaqueRow, filters: noFilters },
  purchases: { path: '/api/v2/purchases', row: rows.opaqueRow, filters: noFilters },
  financial: { path: '/api/v2/reports/financial', row: rows.financialSummary, period },
  webhooks: { path: '/api/v2/webhooks', body: createBodies.webhooks },
  customerBatch: { path: '/api/v2/batch/customers', body: batchBody },
} as const;
