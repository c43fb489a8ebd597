/**
 * Asks a mooring server on which node a pod should run, and why. {@link dev.mooring.client.MooringClient} is where to begin; the
 * messages of the contract are in the package {@code dev.mooring.v1}.
 */
package dev.mooring.client;
