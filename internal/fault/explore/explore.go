// Package explore records what filesystems send to storage while scripts run,
// makes the states that a power cut can leave, mounts each and judges it. It
// runs where the storage is: in the agent.
package explore
