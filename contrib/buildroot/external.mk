include $(sort $(wildcard $(BR2_EXTERNAL_WHICHFS_PATH)/package/*/*.mk))
